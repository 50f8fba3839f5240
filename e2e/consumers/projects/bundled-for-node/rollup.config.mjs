import commonjs from '@rollup/plugin-commonjs';
import { nodeResolve } from '@rollup/plugin-node-resolve';

export default {
  external: ['undici'],
  output: { format: 'es', inlineDynamicImports: true },
  plugins: [nodeResolve({ exportConditions: ['node'], preferBuiltins: true }), commonjs()],
};
