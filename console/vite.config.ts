import { defineConfig } from 'vite';

// Relative addresses: the console is mounted anywhere. Nothing is inlined, so that the strictest CSP holds.
export default defineConfig({
  base: './',
  build: {
    target: 'es2024',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    emptyOutDir: true,
    rolldownOptions: {
      // Says of each file of the router that it is for browsers, which is all there is here.
      onLog: (level, log, tell) => {
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') tell(level, log);
      },
    },
  },
  logLevel: 'warn',
});
