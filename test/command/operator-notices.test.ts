import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";
import { MAIN } from "../our-command.ts";

const FORGED =
  "\u001b]0;title\u0007\u009b2J\ndevtool: everything is fine\r\u202e";

describe("the notices of a server to its operator", () => {
  it("has the text of an MCP server on one line, without characters that control the terminal", async () => {
    const error = { code: -32000, message: FORGED };
    const mcp = createServer(async (request, response) => {
      const { id } = Object(JSON.parse((await text(request)) || "{}"));
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id, error }));
    }).listen(0, "127.0.0.1");
    await once(mcp, "listening");
    const address = mcp.address();
    const port = typeof address === "object" ? address?.port : undefined;
    const home = temporaryDirectory();
    const data = join(home, "data");
    mkdirSync(join(home, "workspace"));
    mkdirSync(data, { mode: 0o700 });
    putFile(
      data,
      "config.toml",
      `sandbox = "none"\n[[mcp_servers]]\nname = "bad"\nhttp = { url = "http://127.0.0.1:${port}/" }\n`,
    );
    const options = ["--data", data, "--workspace", join(home, "workspace")];
    const serve = spawn(
      process.execPath,
      [MAIN, "serve", ...options, "--port", "0"],
      {
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    try {
      await once(serve.stdout, "data");
      const run = spawn(
        process.execPath,
        [MAIN, "run", ...options, "text Hi."],
        { stdio: "ignore" },
      );
      await once(run, "exit");
      let said = "";
      for await (const chunk of serve.stderr) {
        said += String(chunk);
        if (/"notice".*\n/.test(said)) break;
      }
      const [notice = ""] = said
        .split("\n")
        .filter((line) => line.includes('"event":"notice"'));
      expect(JSON.parse(notice).problem).toContain(
        "\u001b]0;title\u0007\u009b2J",
      );
      expect(said.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    } finally {
      serve.kill();
      await once(serve, "exit");
      mcp.close();
    }
  });
});
