import './app.js';

export const App = () => <p>React</p>;
