import html from '@rollup/plugin-html';
import { nodeResolve } from '@rollup/plugin-node-resolve';
import { importMetaAssets } from '@web/rollup-plugin-import-meta-assets';

export default {
  input: 'main.js',
  output: { dir: 'dist', entryFileNames: '[name]-[hash].js' },
  plugins: [nodeResolve({ browser: true }), importMetaAssets(), html()],
};
