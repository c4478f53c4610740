import { defineConfig } from "vite";

// Everything comes in files of its own from the server itself: the page may
// load nothing else, and no inline script or style.
export default defineConfig({
  root: "page",
  base: "./",
  publicDir: "public",
  resolve: { conditions: ["@devtool/source", "browser", "import", "default"] },
  build: {
    outDir: "../dist/page",
    emptyOutDir: true,
    target: "es2023",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // One script: a part that is fetched when it is first opened could be gone
    // by then, with its server or after an update.
    rolldownOptions: { output: { codeSplitting: false } },
    license: { fileName: "licenses.md" },
  },
});
