export default { ssr: { noExternal: process.env.VITE_BUNDLED ? true : undefined } };
