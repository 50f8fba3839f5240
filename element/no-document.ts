// What Lit takes where there is no document: enough to be imported there.

export const HTMLElement = class {};
export const customElements = undefined;
