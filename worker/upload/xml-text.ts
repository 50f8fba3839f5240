// Text in XML.

export const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

const ENTITIES: Record<string, string> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

export const unescapeXml = (text: string): string =>
  text.replaceAll(/&(?:(lt|gt|quot|apos|amp)|#(\d{1,6})|#x([0-9a-f]{1,5}));/gi, (whole, name, decimal, hexadecimal) => {
    if (name) return ENTITIES[name.toLowerCase()]!;
    const code = decimal ? Number(decimal) : Number.parseInt(hexadecimal, 16);
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole;
  });
