import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/**
 * Folders that are installed, built or generated, perhaps while a test runs.
 */
const NOT_OURS = /^(node_modules|dist|gen|target|build|\..+)$/;

/**
 * The TypeScript files below a folder of the repository that we wrote, as paths
 * from the repository's root.
 */
export function codePathsBelow(directory: string): string[] {
  const entries = readdirSync(root + directory, { withFileTypes: true });
  return entries.flatMap((entry) => {
    const path = `${directory}/${entry.name}`;
    if (entry.isDirectory()) {
      return NOT_OURS.test(entry.name) ? [] : codePathsBelow(path);
    }
    return path.endsWith(".ts") ? [path] : [];
  });
}
