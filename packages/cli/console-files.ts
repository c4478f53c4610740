import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import type { Plugin } from "rolldown";

/**
 * Copies the files of the console to the directory in which the command looks
 * for them. The console must be built.
 */
export function consoleFiles(directory: string): Plugin {
  return {
    name: "console-files",
    generateBundle() {
      const entries = readdirSync(directory, {
        recursive: true,
        withFileTypes: true,
      }).filter((entry) => entry.isFile());
      for (const { parentPath, name } of entries) {
        const path = join(parentPath, name);
        this.emitFile({
          type: "asset",
          fileName: join("page", relative(directory, path)),
          source: readFileSync(path),
        });
      }
    },
  };
}
