// A static export, so that the test's server sets the policy. `distDir` keeps what two bundlers leave apart.
export default { output: 'export', basePath: '/some/app', distDir: process.env.NEXT_FOLDER };
