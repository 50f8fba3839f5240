import { Component } from '@angular/core';
import { bootstrapApplication } from '@angular/platform-browser';
import { configure } from 'decant';
import './app.js';

configure({
  worker: (kind) => new Worker(new URL(`decant/worker.${kind}.js`, document.baseURI), { type: 'module' }),
  wasm: (kind) => new URL(`decant/${kind}.wasm`, document.baseURI),
});

@Component({ selector: 'consumer-root', template: '<p>Angular</p>' })
class App {}

await bootstrapApplication(App);
