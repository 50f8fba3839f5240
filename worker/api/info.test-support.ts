// Vitest: the description of an image.

import type { Info, Layer } from '../public/types.js';

export const layerOf = (name: string, more: Partial<Layer> = {}): Layer => ({
  name,
  format: 'qcow2',
  guessed: false,
  virtualSize: 5e6,
  ...more,
});

export const infoOf = (more: Partial<Info> = {}): Info => ({
  format: 'qcow2',
  name: 'disk.qcow2',
  containers: [],
  virtualSize: 5e6,
  features: [],
  snapshots: [],
  references: [],
  identities: [],
  specific: {},
  layers: [layerOf('disk.qcow2')],
  needs: [],
  unusedCompanions: [],
  safety: [],
  ...more,
});
