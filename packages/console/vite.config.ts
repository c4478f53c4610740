import { defineConfig } from "vite";

// Everything comes in files of its own from the server itself: the page may load nothing else, and no inline script or style.
export default defineConfig({
  root: "page",
  base: "./",
  publicDir: false,
  resolve: { conditions: ["@devtool/source", "browser", "import", "default"] },
  build: {
    outDir: "../dist/page",
    emptyOutDir: true,
    target: "es2023",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      // One file with all that is loaded at first, which compresses better than several; what is loaded later has its own.
      output: { codeSplitting: { groups: [{ name: "page", test: isLoadedFirst }] } },
    },
    license: { fileName: "licenses.md" },
  },
});

/** Not the views of `session-details.tsx` and the conformance report, and what they alone use. */
function isLoadedFirst(path: string): boolean {
  return !/node_modules\/eventsource-parser\/|\/schema\/src\/(conformance|gen\/devtool\/conformance\/.*)\.ts$|\/page\/(conformance-report|session-details|timeline|frame-list|frames|audit-trail|checkpoint-list|workspace-rules|use-answer)\.tsx?$/.test(
    path,
  );
}
