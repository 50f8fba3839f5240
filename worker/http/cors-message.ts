// Browsers: the failure of a request to another origin, which looks the same for a dead server and for CORS rules.

/** Headers that need no permission of the server, or none in current browsers. Fetch standard, "CORS-safelisted". */
const SAFELISTED = new Set(['accept', 'accept-language', 'content-language', 'range']);

/** Explains that the browser has shown no response from `origin` to a request of `method` with `headers`. */
export function corsMessage(origin: string, method: string, headers: Headers): string {
  const names = [...headers.keys()].filter((name) => !SAFELISTED.has(name));
  const rules = ['send Access-Control-Allow-Origin'];
  const isCustom = names.length > 0;
  if (isCustom || !['GET', 'HEAD', 'POST'].includes(method))
    rules.push(`allow the method ${method} (Access-Control-Allow-Methods)`);
  if (isCustom)
    rules.push(`allow the header${names.length > 1 ? 's' : ''} ${names.join(', ')} (Access-Control-Allow-Headers)`);
  const must = rules.length === 1 ? rules[0] : `${rules.slice(0, -1).join(', ')} and ${rules.at(-1)}`;
  return `no answer came from ${origin}, or its CORS rules do not allow this page: then it must ${must}`;
}
