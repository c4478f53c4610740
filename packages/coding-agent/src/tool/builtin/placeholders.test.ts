import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { findSandbox, startProcess } from "@devtool/sandbox";
import { beforeEach, describe, expect, it } from "vitest";
import { loadMemory } from "../../agent/memory.ts";
import { createScriptedModel } from "../../agent/scripted/scripted-model.ts";
import { createCommandFiles } from "../../command/files/command-files.ts";
import type { WorkspaceTrust } from "../../trust/trust.ts";
import type { ToolEvent } from "../tool.ts";
import { textResult } from "../tool-result.ts";
import { Workspace } from "../workspace.ts";
import { listDirectoryTool } from "./list-directory.ts";

const PATH = "/usr/local/bin:/usr/bin:/bin";
const signal = AbortSignal.timeout(300_000);
const sandbox = await findSandbox("auto", { path: PATH }, signal);
const why = sandbox.confines ? "" : ` (skipped: ${sandbox.notice})`;

describe.skipIf(!sandbox.confines)(
  `a placeholder of the sandbox in a workspace${why}`,
  () => {
    let workspace: string;
    beforeEach(() => {
      workspace = temporaryDirectory();
    });

    it("is neither configuration nor part of a listing for another session", async () => {
      await using _running = startProcess(await waitingCommand(), signal);
      while (!existsSync(join(workspace, "began"))) {
        await delay(10, undefined, { signal });
      }
      expect(readdirSync(workspace)).toContain(".devtool");
      const trust: WorkspaceTrust = {
        trustOf: async () => ({ case: "untrusted", reason: "" }),
      };
      const onNotice = (text: string): void => expect.unreachable(text);
      const memory = await loadMemory(
        { configDirectory: undefined, workspaceRoots: [], trust, onNotice },
        workspace,
      );
      const place = { workspacePath: workspace, principal: "" };
      const commands = await createCommandFiles({
        trust,
        model: createScriptedModel(),
        onNotice,
      }).find(place, signal);
      using directory = new Workspace(workspace);
      const listing = await listDirectoryTool(directory).prepare(
        { path: "." },
        signal,
      );
      const listed: ToolEvent[] = await Array.fromAsync(
        listing.execute(signal),
      );
      putFile(workspace, "go", "");
      expect([...memory.notices, ...commands.notices]).toEqual([]);
      expect(listed).toEqual([textResult("began")]);
    });

    function waitingCommand() {
      return sandbox.command({
        argv: [
          "bash",
          "-c",
          "touch began; until [ -e go ]; do sleep 0.02; done",
        ],
        workingDirectory: workspace,
        environment: { PATH },
        shell: "/bin/bash",
        access: { workspace, readable: [], writable: [], network: "none" },
      });
    }
  },
);
