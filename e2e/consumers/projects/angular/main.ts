import { Component } from '@angular/core';
import { bootstrapApplication } from '@angular/platform-browser';
import { configure } from 'decant';
import './app.js';

configure({
  worker: () => new Worker(new URL('decant/worker.js', document.baseURI), { type: 'module' }),
  wasm: () => new URL('decant/decant.wasm', document.baseURI),
  codec: (name) => new URL(`decant/${name}.wasm`, document.baseURI),
});

@Component({ selector: 'consumer-root', template: '<p>Angular</p>' })
class App {}

await bootstrapApplication(App);
