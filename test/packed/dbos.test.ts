import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { LEFT_TO_DEEP } from "../depth.ts";
import { startServing } from "../durability/crash/server-process.ts";
import { describeWithPostgres } from "../fleet/with-postgres.ts";
import { findNode, OLDEST } from "./nodes.ts";
import { PackedProject, programOf } from "./project.ts";

const FILES = {
  "flow.yaml":
    'name: flow\nsteps: [{ id: only, agent: devtool, task: "text Packed." }]\n',
  "bare/config.toml": "",
};

describeWithPostgres(
  `workflows that DBOS keeps, by the packed command on Node ${OLDEST}`,
  (database) => {
    it("need its package, are told so, and run with it", async ({ skip }) => {
      const node = programOf(await findNode(OLDEST), skip);
      const project = await PackedProject.install([], ["cli"]);
      const at = (name: string): string => join(project.directory, name);
      for (const name of ["data", "bare", "work"]) {
        mkdirSync(at(name), { mode: 0o700 });
      }
      const config = `[store]\nurl = "${database.url}"\ndbos = true\n`;
      const files = { ...FILES, "data/config.toml": config };
      for (const [name, text] of Object.entries(files)) {
        writeFileSync(at(name), text, { mode: 0o600 });
      }
      const start = (data: string) =>
        startServing(
          [
            ...["--data", at(data), "--workspace", at("work")],
            ...["--agent", "devtool", "--agent", at("flow.yaml")],
          ],
          project.environment(),
          at("node_modules/@devtool/cli/dist/main.js"),
          node,
        );
      const play = async (data: string): Promise<string> => {
        const place = ["--data", at(data), "--workspace", at("work")];
        const { stdout, stderr } = await project.devtool(
          node,
          ...["workflow", "run", "flow", "go", ...place],
        );
        return stdout + stderr;
      };
      // Without `dbos`, nothing of it is needed.
      const bare = await start("bare");
      expect(await play("bare")).toContain("Packed.");
      await bare.stop();
      await expect(start("data")).rejects.toThrow(
        /@dbos-inc\/dbos-sdk cannot be loaded.*npm install @dbos-inc\/dbos-sdk/s,
      );
      const cache = process.env.npm_config_cache ?? join(homedir(), ".npm");
      await promisify(execFile)(
        "npm",
        [
          ...["install", "--silent", "--no-audit", "--no-fund"],
          ...["--cache", cache, "@dbos-inc/dbos-sdk@5"],
        ],
        { cwd: project.directory, env: project.environment() },
      );
      const server = await start("data");
      expect(await play("data")).toContain("Packed.");
      await server.stop();
      const rows = await database.run(
        "select status from devtool_dbos.workflow_status",
      );
      expect(rows).toEqual([{ status: "SUCCESS" }]);
    }, 300_000);
  },
  LEFT_TO_DEEP,
);
