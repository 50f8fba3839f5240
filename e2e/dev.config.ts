import base from './playwright.config.ts';
export default { ...base, timeout: 60_000, expect: { timeout: 8000 } };
