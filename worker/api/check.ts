// The check of an image: what a program should know before it accepts it.

import { shownText } from '../errors/shown.js';
import type { Examined } from '../messages/coordinator.js';
import type { AnyInfo, CheckResult, FileCheck, Finding, Need, Notice } from '../public/types.js';
import { severityOf } from './notice-rules.js';

const ORDER = ['error', 'warning', 'note'] as const;

/** The result of a check. `examined` is undefined for a streamed image; `checked` is the check of its file, if it is deep. */
export function checkResult(info: AnyInfo, examined: Examined | undefined, checked?: FileCheck): CheckResult {
  const found: Finding[] = [
    ...info.needs.map(ofNeed),
    ...(examined ? ofTables(examined, info.virtualSize!) : [IN_ORDER]),
    ...(checked ? ofFile(checked) : []),
    ...distinct([...info.safety, ...(examined?.notices ?? [])]).map(ofNotice),
    ...info.unusedCompanions.map(ofUnused),
  ];
  const findings = ORDER.flatMap((severity) => found.filter((finding) => finding.severity === severity));
  return {
    accept: findings.every(({ severity }) => severity !== 'error'),
    findings,
    ...(checked && { file: checked }),
  };
}

/** Sums up what is wrong in the file. It does not prevent a conversion, unless the tables do, which is reported besides. */
function ofFile({ corruptions, leaks, unchecked }: FileCheck): Finding[] {
  const counted = (code: string, severity: Finding['severity'], count: number, message: string): Finding[] =>
    count > 0 ? [{ code, severity, fields: { count }, message }] : [];
  const [errors, clusters, parts] = [corruptions, leaks, unchecked].map((count) => count.toLocaleString('en-US'));
  return [
    ...counted('check-corruptions', 'warning', corruptions, `The structures of the file have ${errors} errors`),
    ...counted('check-unchecked', 'warning', unchecked, `${parts} parts of the file could not be checked`),
    ...counted('check-leaks', 'note', leaks, `Nothing uses ${clusters} clusters of the file`),
  ];
}

const IN_ORDER: Finding = {
  code: 'unchecked',
  severity: 'warning',
  fields: { checked: 0 },
  message: 'The image is decoded in order, so only a conversion can check all of it',
};

function ofNeed(need: Need): Finding {
  if (need.kind === 'password') {
    const message = `'${shownText(need.of)}' is encrypted; unlock it with its password`;
    return { code: 'password-needed', severity: 'error', fields: { layer: need.of }, message };
  }
  const { role, name, of } = need;
  const message = `'${shownText(name)}', the ${role} of '${shownText(of)}', is missing; pass it together with the image`;
  return { code: 'missing-file', severity: 'error', fields: { file: name, role, neededBy: of }, message };
}

function ofTables({ damage, lost, checked }: Examined, virtualSize: number): Finding[] {
  if (damage) return [ofDamage(damage)];
  const findings: Finding[] = [];
  if (lost > 0) {
    const message = `${lost} bytes of the disk cannot be read; they become zeros`;
    findings.push({ code: 'lost', severity: 'error', fields: { size: lost }, message });
  }
  if (checked < virtualSize) {
    const message = `The tables of ${virtualSize - checked} of the disk's ${virtualSize} bytes were not read; 'deep' reads all of them`;
    findings.push({ code: 'unchecked', severity: 'warning', fields: { checked, size: virtualSize }, message });
  }
  return findings;
}

/** The finding has the code with which a conversion fails. */
const ofDamage = ({ code, fields, message }: Notice): Finding => ({ code, severity: 'error', fields, message });

/** Removes duplicates. */
const distinct = (notices: Notice[]): Notice[] =>
  notices.filter(
    ({ code, message }, at) => at === notices.findIndex((other) => other.code === code && other.message === message),
  );

const ofNotice = (notice: Notice): Finding => {
  const { code, fields, message } = notice;
  return { code, severity: severityOf(notice), fields, message };
};

const ofUnused = (file: string): Finding => ({
  code: 'unused-companion',
  severity: 'note',
  fields: { file },
  message: `Nothing refers to '${shownText(file)}'`,
});
