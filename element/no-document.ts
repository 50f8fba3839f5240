// Stand-ins for Lit, so that it can be imported without a document.

export const HTMLElement = class {};
export const customElements = undefined;
