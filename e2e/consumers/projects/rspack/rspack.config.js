import { rspack } from '@rspack/core';

export default {
  entry: './main.js',
  output: { filename: '[name].[contenthash].js', clean: true },
  plugins: [new rspack.HtmlRspackPlugin()],
};
