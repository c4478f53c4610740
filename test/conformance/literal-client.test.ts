import { spawn, spawnSync } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { beforeAll, describe, expect, it } from "vitest";
import { variantsOf } from "../depth.ts";

const CLIENT = fileURLToPath(new URL("literal/client.py", import.meta.url));
const HAS_PYTHON = spawnSync("python3", ["--version"]).status === 0;

/**
 * The scenarios that follow the RFC, and therefore also work where the
 * extension is required.
 */
const RFC = [
  "appendix_a",
  "reconnects",
  "blocks",
  "edits",
  "is_notified",
  "runs_commands",
  "speaks_of_a_conversation",
  "is_restricted",
  "keeps_what_was_sent",
  "waits_its_turn",
];

describe.skipIf(!HAS_PYTHON)(
  "a client that knows only the RFC (skipped without python3)",
  () => {
    let workspace: string;
    beforeAll(() => {
      workspace = temporaryDirectory();
    });

    describe.each(variantsOf("bindings", ["JSONRPC", "HTTP+JSON"], 1))(
      "over %s",
      (binding) => {
        it("passes all scenarios of the RFC, and gets errors for its mistakes", async () => {
          expect(
            await play({ binding, extensionRequired: false }, [...RFC, "errs"]),
          ).toEqual([...RFC, "errs"]);
        });

        it("passes the same scenarios where the extension is required", async () => {
          expect(await play({ binding, extensionRequired: true }, RFC)).toEqual(
            RFC,
          );
        });
      },
    );

    it("names the scenario that a server fails (sabotage)", async () => {
      const told = await play(
        { binding: "JSONRPC", extensionRequired: false, wrongToken: "wrong" },
        ["appendix_a"],
      );
      expect(told[0]).toBe("FAILED appendix_a");
    });

    interface Play {
      readonly binding: string;
      readonly extensionRequired: boolean;
      readonly wrongToken?: string;
    }

    /**
     * Plays scenarios against a server of its own, and gives the names of those
     * that went well, and what else was said.
     */
    async function play(
      { binding, extensionRequired, wrongToken }: Play,
      scenarios: readonly string[],
    ) {
      const data = temporaryDirectory();
      const pushTargets = ["127.0.0.1:*"];
      await using server = await serveCodingAgent({
        workspace,
        dataDirectory: data,
        pushTargets,
        extensionRequired,
      });
      // One word for the token: argparse takes a second one that begins with
      // "-" for another option.
      const args = [
        "--url",
        server.url,
        `--token=${wrongToken ?? server.token}`,
        "--workspace",
        workspace,
      ];
      const child = spawn("python3", [
        CLIENT,
        ...args,
        "--binding",
        binding,
        ...scenarios,
      ]);
      const [output, errors] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
      ]);
      return `${output}${errors}`
        .trim()
        .split("\n")
        .map((line) => line.replace(/^ok /, ""));
    }
  },
);
