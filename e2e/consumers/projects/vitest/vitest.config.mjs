// Without a configuration here, Vitest uses that of a folder above.
export default {};
