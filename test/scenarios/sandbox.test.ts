import { realpathSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { findSandbox } from "@devtool/sandbox";
import {
  ApprovalMode,
  findToolCallDetail,
  TaskState,
  type ToolCall,
} from "@devtool/schema";
import { describe, expect, it } from "vitest";
import { variantsOf } from "../depth.ts";
import { Conversation } from "./conversation.ts";
import { clientOf, type Dialect, Ground, toldOf } from "./ground.ts";

const DIALECTS = variantsOf<Dialect>(
  "dialects of scenarios",
  ["Connect", "A2A 0.3"],
  1,
);
const path = `${dirname(realpathSync(process.execPath))}:/usr/bin:/bin`;
const found = await findSandbox("auto", { path }, AbortSignal.timeout(60_000));
const why = found.confines ? "" : ` (skipped: ${found.notice})`;

describe.skipIf(!found.confines).each(DIALECTS)(
  `over %s, a command in a sandbox${why}`,
  (dialect) => {
    it("asks for what was kept from it, and runs again with that and no more", async () => {
      await using ground = await Ground.prepare();
      const outside = realpathSync(
        await mkdtemp(join(homedir(), "devtool-outside-")),
      );
      await using _outside = {
        [Symbol.asyncDispose]: () => rm(outside, { recursive: true }),
      };
      await using server = await ground.serve({
        sandbox: "bwrap",
        approvalMode: ApprovalMode.YOLO,
      });
      const talk = new Conversation(clientOf(server, dialect));
      await talk.say(
        `run touch ${outside}/made\nrun touch ${outside}/refused\ntext Tried.`,
      );
      const questions: string[] = [];
      const once = async (option: string): Promise<void> => {
        questions.push(...talk.asked.map(wordsOf));
        const parents = talk.asked.map(
          ({ toolCallId }) =>
            findToolCallDetail(talk.task, toolCallId)?.parentToolCallId,
        );
        expect(talk.calls.map(({ toolCallId }) => toolCallId)).toContain(
          parents[0],
        );
        await talk.answer(() => option);
      };
      while (
        talk.asked.length > 0 &&
        !(await readdir(outside)).includes("made")
      ) {
        await once("proceed_once");
      }
      expect(questions.at(-1)).toContain(
        `write access to ${JSON.stringify(outside)}`,
      );
      while (talk.asked.length > 0) await once("cancel");

      expect([talk.task.state, talk.text]).toEqual([
        TaskState.COMPLETED,
        "Tried.",
      ]);
      expect(await readdir(outside)).toEqual(["made"]);
      expect(toldOf(ground.fake)).toMatchObject([
        { output: expect.any(String) },
        { error: { type: "execution_failed", message: expect.any(String) } },
      ]);
    });
  },
);

function wordsOf({ description, confirmationRequest }: ToolCall): string {
  return JSON.stringify([
    description,
    confirmationRequest?.details.value,
  ]).replaceAll('\\"', '"');
}
