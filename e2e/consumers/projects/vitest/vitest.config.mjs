// Without a configuration of its own, Vitest uses that of a folder above.
export default {};
