import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { rolldown } from "rolldown";
import { expect, it } from "vitest";

it("runs in a bundle of CommonJS, as extensions of editors are", async () => {
  const home = temporaryDirectory();
  const file = join(home, "extension.cjs");
  const bundle = await rolldown({
    input: join(import.meta.dirname, "../../packages/ide/src/index.ts"),
    platform: "node",
    resolve: { conditionNames: ["@devtool/source", "node", "import"] },
    logLevel: "silent",
  });
  await bundle.write({ file, format: "cjs", codeSplitting: false });
  await bundle.close();
  const script = `
    const { startCompanion } = require(${JSON.stringify(file)});
    const editor = { workspaceFolders: () => [], onContext: () => ({ [Symbol.dispose]() {} }) };
    startCompanion(editor, { env: ${JSON.stringify({ HOME: home, TMPDIR: home })} })
      .then((companion) => companion.close())
      .then(() => console.log("ended"));
  `;
  const text = execFileSync(process.execPath, ["-e", script], {
    encoding: "utf8",
  });
  expect(text).toBe("ended\n");
});
