import { spawnSync } from "node:child_process";
import { access, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TrustStore, Workspace } from "@devtool/coding-agent/operator";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeAll, describe, expect, it } from "vitest";
import { COMPILE_CACHE } from "../compile-cache-variable.ts";
import { LEFT_TO_CI, variantsOf } from "../depth.ts";
import { makeRepositories, REPOSITORIES } from "./trust/repositories.ts";
import { readTrace, type Traced } from "./trust/trace.ts";

const canTrace = spawnSync("strace", ["-o", "/dev/null", "true"]).status === 0;
const note = canTrace
  ? "S4"
  : "S4; SKIPPED: strace is missing or may not trace here";

describe.skipIf(!canTrace)(
  `${REPOSITORIES.length} malicious repositories under strace (${note})`,
  () => {
    let root: string;
    let store: TrustStore;

    beforeAll(async () => {
      root = temporaryDirectory();
      await makeRepositories(root);
      await writeFile(join(root, "control"), "seen");
      // Trusting a parent directory or a sibling must not open any of them.
      store = new TrustStore({
        dataDirectory: join(root, "data"),
        openDirectory: (path) => new Workspace(path),
        now: () => new Date(0),
      });
      await store.grant(await store.preview(join(root, "trusted")));
      await store.grant(await store.preview(root));
    });

    it("are enough", () => {
      expect(REPOSITORIES.length).toBeGreaterThanOrEqual(25);
    });

    for (const mode of variantsOf("programs", ["server", "parts"], 1)) {
      it(`are not opened and start nothing: ${mode}`, async () => {
        const { opened, started, controls } = await trace(mode);
        expect(opened).toEqual([]);
        expect(started).toEqual([process.execPath]);
        expect(controls).toBe(1);
      });
    }

    it.skipIf(LEFT_TO_CI !== "")(
      `are opened if the check is removed (sabotage)${LEFT_TO_CI}`,
      async () => {
        const { opened } = await trace("sabotage");
        const touched = REPOSITORIES.filter(({ path }) =>
          opened.some((file) => file.startsWith(`${join(root, path)}/`)),
        );
        expect(touched.length).toBeGreaterThanOrEqual(10);
        expect(opened).toContain(
          join(root, "untrusted/with space\nand newline/AGENTS.md"),
        );
        expect(opened).toContain(
          join(root, "trusted/inside/.devtool/commands/x.md"),
        );
      },
    );

    it.skipIf(LEFT_TO_CI !== "")(
      `are opened by the server where they are trusted alone${LEFT_TO_CI}`,
      async () => {
        const trusted = join(root, "untrusted/agents-md");
        await store.grant(await store.preview(trusted));
        const { opened } = await trace("granted");
        await store.revoke(trusted);
        expect([...new Set(opened)]).toEqual([join(trusted, "AGENTS.md")]);
      },
    );

    async function trace(mode: string): Promise<Traced> {
      const calls = join(root, `calls-${mode}`);
      const program = fileURLToPath(
        new URL("./trust/subject.ts", import.meta.url),
      );
      const node = [
        "--no-warnings",
        "--experimental-transform-types",
        "--conditions=@devtool/source",
        program,
      ];
      const run = spawnSync(
        "strace",
        [
          "-f",
          "-y",
          "-s",
          "4096",
          "-e",
          "trace=open,openat,openat2,execve,execveat",
          "-e",
          "signal=none",
          "-o",
          calls,
          process.execPath,
          ...node,
          mode,
          root,
          join(root, "data"),
        ],
        {
          env: { ...COMPILE_CACHE, PATH: process.env.PATH ?? "", HOME: root },
          encoding: "utf8",
        },
      );
      expect({ status: run.status, stderr: run.stderr }).toEqual({
        status: 0,
        stderr: "",
      });
      return readTrace((await readFile(calls, "utf8")).split("\n"), root);
    }
  },
);

describe("docs/threat-model.md", () => {
  it("names a test that exists for every row, or says that it is owed", async () => {
    const text = await readFile(
      new URL("../../docs/threat-model.md", import.meta.url),
      "utf8",
    );
    const rows = [...text.matchAll(/^\| (S\d+) .*$/gm)];
    expect(rows.map(([, id]) => id)).toEqual(
      Array.from({ length: 25 }, (_, index) => `S${index + 1}`),
    );
    for (const [row] of rows) {
      const files = [...row.matchAll(/`([\w/.-]+\.test\.ts)`/g)].map(
        ([, file = ""]) => file,
      );
      expect(files.length > 0 || row.includes("owed")).toBe(true);
      for (const file of files) {
        await access(new URL(`../../${file}`, import.meta.url));
      }
    }
  });
});
