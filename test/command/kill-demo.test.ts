import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";
import {
  type ServerProcess,
  startServerProcess,
} from "../durability/crash/server-process.ts";
import { HAS_TMUX, Tmux } from "../terminal/tmux.ts";

describe.skipIf(LEFT_TO_CI !== "" || !HAS_TMUX)(
  `the README's demo in a real terminal (skipped without tmux): kill the server, and start it again${LEFT_TO_CI}`,
  () => {
    let home: string;
    let terminal: Tmux;
    let server: ServerProcess;
    const serve = (): Promise<ServerProcess> =>
      startServerProcess({
        data: join(home, "data"),
        workspace: join(home, "playground"),
      });

    beforeEach(async () => {
      home = temporaryDirectory();
      server = await serve();
      const main = fileURLToPath(
        new URL("../../packages/cli/dist/main.js", import.meta.url),
      );
      writeFileSync(
        join(home, "devtool"),
        `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`,
        { mode: 0o700 },
      );
      const { PATH = "" } = process.env;
      const env = {
        PATH: `${home}:${PATH}`,
        HOME: home,
        TERM: "xterm",
        DEVTOOL_DATA: join(home, "data"),
      };
      terminal = await Tmux.open({ env });
      await terminal.type("devtool chat", "Enter");
      await terminal.shows(
        /^agent devtool · workspace .*playground · model scripted(?: · |\n)mode default[\s\S]*^>$/m,
      );
    });
    afterEach(async () => {
      await terminal[Symbol.asyncDispose]();
      await server.kill();
    });

    it("goes on where it was, while it works", async () => {
      await terminal.type("say 2\\", "Enter");
      await terminal.type("wait 600000", "Enter");
      await terminal.shows(/chunk 2/);
      await server.kill();
      await terminal.shows(
        /^· the server at http:\S+ is gone: waiting for it to start again$/m,
      );
      server = await serve();
      await terminal.shows(/^· reconnected to http:\S+$/m);
      await terminal.shows(/Send a message to go on[\s\S]*default\n>$/m);
      await terminal.type("text Still here.", "Enter");
      await terminal.shows(/^● Still here\.$/m);
    });

    it("goes on where it was, at an open question", async () => {
      await terminal.type("write asked.txt answered", "Enter");
      await terminal.shows(/^choose >$/m);
      await server.kill();
      server = await serve();
      await terminal.type("y", "Enter");
      await terminal.shows(
        /^· reconnected to http:\S+$[\s\S]*^✓ write_file[\s\S]*^>$/m,
      );
      expect(fileText(home, "playground/asked.txt")).toBe("answered");
    });

    it("does not answer with a key that Ctrl-C follows at once, and leaves while no server is there", async () => {
      await terminal.type("write asked.txt answered", "Enter");
      await terminal.shows(/^choose >$/m);
      await server.kill();
      await terminal.shows(/is gone: waiting for it to start again$/m);
      await terminal.type("", "y", "C-c");
      await terminal.shows(/^\$$/m);
      server = await serve();
      expect(existsSync(join(home, "playground/asked.txt"))).toBe(false);
    });

    it("leaves with Ctrl-C while no server is there", async () => {
      await terminal.type("write asked.txt answered", "Enter");
      await terminal.shows(/^choose >$/m);
      await server.kill();
      await terminal.type("y", "Enter");
      await terminal.shows(
        /is gone: waiting for it to start again$[\s\S]*working \d+s/m,
      );
      await terminal.type("", "C-c");
      await terminal.shows(
        /^· not canceled: the server is not running; it will have the task when it starts/m,
      );
      await terminal.type("", "C-c");
      await terminal.shows(/^\$$/m);
      expect(existsSync(join(home, "playground/asked.txt"))).toBe(false);
    });
  },
);
