import { readFileSync } from "node:fs";
import { join } from "node:path";
import { create } from "@bufbuild/protobuf";
import { writeDiscovery } from "@devtool/cli/testing";
import { ServerInfoSchema } from "@devtool/schema/operator";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LEFT_TO_CI } from "../depth.ts";
import { MAIN } from "../our-command.ts";
import { beginWorkday, type Workday } from "../scenarios/workday/workday.ts";
import { HAS_TMUX, Tmux } from "./tmux.ts";
import { playTranscript } from "./transcript.ts";

describe.skipIf(!HAS_TMUX)(
  "a day's work in the chat (skipped without tmux)",
  () => {
    let day: Workday;
    let terminal: Tmux;

    beforeEach(async () => {
      day = await beginWorkday();
      const { home, work, server } = day;
      const info = {
        url: server.url,
        token: server.token,
        pid: process.pid,
        agent: "devtool",
        workspace: work,
      };
      await writeDiscovery(
        join(home, "data"),
        create(ServerInfoSchema, { ...info, model: "gemini-test" }),
      );
      const env = {
        PATH: process.env.PATH ?? "",
        HOME: home,
        TERM: "xterm",
        DEVTOOL_DATA: join(home, "data"),
      };
      terminal = await Tmux.open({ env, rows: 60, directory: work });
      const chat = `"${process.execPath}" "${MAIN}" chat --url ${server.url} --token ${server.token}`;
      await terminal.type(`clear; ${chat}`, "Enter");
      await terminal.shows(/default\n>$/m);
    });
    afterEach(async () => {
      await terminal[Symbol.asyncDispose]();
      await day[Symbol.asyncDispose]();
    });

    it("finds and fixes a bug", async () => {
      await play("fix-a-bug.txt");
      expect(day.read("sum.mjs")).toContain("return a + b;");
      await terminal.shows(/· context \d+ % left · [\d.]+k? tokens sent\n>/);
    });

    it.skipIf(LEFT_TO_CI !== "")(
      `reviews a branch, and keeps the review${LEFT_TO_CI}`,
      async () => {
        day.branch();
        await play("review-a-branch.txt");
        expect(day.read("review.md")).toContain("| sum.mjs:2 | multiplies |");
      },
    );

    /** Plays one of the transcripts. */
    function play(name: string): Promise<void> {
      const transcript = readFileSync(
        new URL(`./${name}`, import.meta.url),
        "utf8",
      );
      return playTranscript(terminal, transcript, { $WORK: day.work });
    }
  },
);
