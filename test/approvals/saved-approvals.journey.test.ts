import { mkdtemp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { pendingToolCalls } from "@devtool/client";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { findSandbox } from "@devtool/sandbox";
import { toolCallsOf } from "@devtool/schema";
import type { DevtoolServer } from "@devtool/server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Conversation } from "../audit/conversation.ts";
import { createIssuer, type Issuer } from "../auth/issuer.ts";

const SAVE = "proceed_always_and_save";
const signal = AbortSignal.timeout(300_000);
const found = await findSandbox("auto", { path: "" }, signal);
const why = found.confines ? "" : ` (skipped: ${found.notice})`;

describe.skipIf(!found.confines)(
  `an approval that the operator saved${why}`,
  () => {
    let directory: string;
    let server: DevtoolServer;
    let issuer: Issuer;
    let file: string;
    beforeAll(async () => {
      directory = temporaryDirectory();
      issuer = await createIssuer();
      const workspace = await mkdtemp(join(directory, "workspace-"));
      const dataDirectory = await mkdtemp(join(directory, "data-"));
      file = join(dataDirectory, "saved-approvals.toml");
      server = await serveCodingAgent({
        workspace,
        dataDirectory,
        authentication: { jwt: issuer.options },
      });
      const operator = new Conversation(server, signal);
      await operator.answer(await operator.start("run touch made"), SAVE);
      await operator.answer(await operator.start("write saved.txt text"), SAVE);
    });
    afterAll(() => server.close());

    it("covers the operator's same call in another conversation", async () => {
      const operator = new Conversation(server, signal);
      for (const step of [
        "run touch made",
        "run touch   'made'",
        "write saved.txt other",
      ]) {
        expect(pendingToolCalls(await operator.start(step)), step).toEqual([]);
      }
    });

    it.each([
      "run touch made2",
      "run touch made more",
      "run touch -- made",
      "run touch made; rm made",
      "run touch made > /dev/null; rm made",
      "run touch ma\u200bde",
      "run touch m\u0430de",
      "run touch\u00a0made",
      "run ./touch made",
      "run /usr/bin/touch made",
      "run X=1 touch made",
      "run touch made &",
      "run touch $(echo made)",
      'call run_shell_command {"command":"touch made","directory":"/"}',
      'call run_shell_command {"command":"touch made","background":true}',
      "write saved.txt2 text",
      "write sub/saved.txt text",
      'call replace {"file_path":"saved.txt","old_string":"other","new_string":"x"}',
    ])("does not cover %s", async (step) => {
      const task = await new Conversation(server, signal).start(step);
      const ran = task.history
        .flatMap(toolCallsOf)
        .filter(({ result }) => result.case === "output");
      expect([
        pendingToolCalls(task).length === 1 || ran.length === 0,
        ran,
      ]).toEqual([true, []]);
    });

    it("covers nothing of another principal, who can save none and sees none", async () => {
      const bob = new Conversation(
        { url: server.url, token: await issuer.tokenFor("bob") },
        signal,
      );
      const before = await readFile(file, "utf8");
      expect(before).toContain("touch made");
      for (const step of ["run touch made", "write saved.txt again"]) {
        const task = await bob.start(step);
        const options = pendingToolCalls(task).flatMap(
          (call) => call.confirmationRequest?.options.map(({ id }) => id) ?? [],
        );
        expect(options).toContain("proceed_once");
        expect(options).not.toContain(SAVE);
        const toolCallId = pendingToolCalls(task)[0]?.toolCallId ?? "";
        const value = { toolCallId, selectedOptionId: SAVE };
        const message = {
          messageId: crypto.randomUUID(),
          parts: [{ content: { case: "confirmation" as const, value } }],
        };
        const forged = bob.client.tasks.sendMessage({
          message,
          taskId: task.id,
        });
        await expect(forged).rejects.toThrow("is not offered");
      }
      expect(await readFile(file, "utf8")).toBe(before);
    });
  },
);
