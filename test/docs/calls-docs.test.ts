import { readFileSync } from "node:fs";
import { serveCodingAgent } from "@devtool/coding-agent";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { expect, it, onTestFinished } from "vitest";
import { postJson } from "../post-json.ts";

const PAGE = read("docs/start-generate.md");

it("docs/start-generate.md has a conversation without generated code, as the server has it", async () => {
  const workspace = temporaryDirectory();
  const server = await serveCodingAgent({ workspace });
  onTestFinished(() => server.close());
  const blocks = [
    ...PAGE.matchAll(/<!-- call: (\w+) -->\n```http\nPOST (\S+)\n([^`]*)```/g),
  ];
  expect(blocks).toHaveLength(3);
  const known = { TASK: "", CALL: "" };
  const fill = (text: string): string =>
    text.replace(/"(TASK|CALL)"/g, (_, name: "TASK" | "CALL") =>
      JSON.stringify(known[name]),
    );
  for (const [, name = "", path = "", request = ""] of blocks) {
    const response = await postJson(server, path, fill(request));
    const text = await response.text();
    known.TASK ||= JSON.parse(text).task?.id ?? "";
    known.CALL ||= /"tool_call_id":"([^"]*)"/.exec(text)?.[1] ?? "";
    const [, answer = ""] =
      new RegExp(`<!-- answer: ${name} -->\\n\`\`\`json\\n([^\`]*)\`\`\``).exec(
        PAGE,
      ) ?? [];
    expect(JSON.parse(text)).toMatchObject(JSON.parse(fill(answer)));
  }
});

it("the kit's README shows a client that the interop tests play", () => {
  const readme = read("packages/conformance/README.md");
  const [, path = "", code = ""] =
    /<!-- client: (\S+) -->\n```py\n([^`]*)```/.exec(readme) ?? [];
  expect(code).toBe(read(path));
});

function read(path: string): string {
  return readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
}
