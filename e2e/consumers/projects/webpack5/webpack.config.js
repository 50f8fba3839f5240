import HtmlWebpackPlugin from 'html-webpack-plugin';

export default {
  entry: './main.js',
  output: { filename: '[name].[contenthash].js', clean: true },
  plugins: [new HtmlWebpackPlugin()],
};
