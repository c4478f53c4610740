import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ToolEvent, ToolInvocation } from "../tool.ts";
import { Workspace } from "../workspace.ts";
import { builtinTools } from "./builtin-tools.ts";

describe("the tools for files", () => {
  const signal = AbortSignal.timeout(20_000);
  let root: string;
  let workspace: Workspace;
  beforeEach(() => {
    root = realpathSync(mkdtempSync(join(tmpdir(), "devtool-files-")));
    workspace = new Workspace(root);
    mkdirSync(join(root, "src"));
    writeFileSync(join(root, "src/a.ts"), "one\ntwo\nthree\n");
    writeFileSync(join(root, "src/b.md"), "# two\n");
    writeFileSync(join(root, "image.png"), Buffer.from([0x89, 0x50, 0, 0xff]));
    symlinkSync("/etc", join(root, "link"));
  });
  afterEach(() => {
    workspace[Symbol.dispose]();
    rmSync(root, { recursive: true });
  });

  it("read_file reads a file, or some of its lines, and says what it cannot read", async () => {
    expect(await text("read_file", { file_path: "src/a.ts" })).toBe("one\ntwo\nthree\n");
    expect(await text("read_file", { file_path: join(root, "src/a.ts"), offset: 1, limit: 1 })).toBe(
      "[lines 2 to 2 of 4]\ntwo",
    );
    await expect(text("read_file", { file_path: "image.png" })).rejects.toThrow("is binary (4 bytes)");
    await expect(text("read_file", { file_path: "missing" })).rejects.toThrow('file "missing" does not exist');
    await expect(text("read_file", { file_path: "link/passwd" })).rejects.toThrow("goes through a symbolic link");
    await expect(prepare("read_file", { file_path: "/etc/passwd" })).rejects.toThrow("is outside workspace");
    await expect(prepare("read_file", {})).rejects.toThrow("file_path is missing: it must be of type string");
    await expect(prepare("read_file", { file_path: "a", limit: "9" })).rejects.toThrow(
      'limit "\\"9\\"" must be of type integer',
    );
  });

  it("list_directory, glob and search_file_content find what is there and follow no link", async () => {
    expect(await text("list_directory", { path: "." })).toBe("image.png\nlink@\nsrc/");
    expect(await text("glob", { pattern: "**/*.{ts,md}" })).toBe("src/a.ts\nsrc/b.md");
    expect(await text("search_file_content", { pattern: "^two|# t" })).toBe("src/a.ts:2:two\nsrc/b.md:1:# two");
    expect(await text("search_file_content", { pattern: "two", include: "*.md" })).toBe("src/b.md:1:# two");
    expect(await text("glob", { pattern: "*.none" })).toBe("No file matches.");
    await expect(prepare("search_file_content", { pattern: "(" })).rejects.toThrow("is no regular expression");
  });

  it("ends a search whose pattern never would", { timeout: 10_000 }, async () => {
    writeFileSync(join(root, "evil.txt"), "a".repeat(40));
    const invocation = await prepare("search_file_content", { pattern: "^(a+)+$x", path: "." });
    const stop = AbortSignal.timeout(300);
    await expect(collect(invocation, stop)).rejects.toThrow("took longer");
  });

  it("write_file shows the change, makes it, and makes the user's instead when told to (TOOL-3, TOOL-6)", async () => {
    const invocation = await prepare("write_file", { file_path: "src/a.ts", content: "one\nTWO\nthree\n" });
    expect(invocation.confirmation).toMatchObject({
      case: "fileEditDetails",
      value: {
        fileName: "a.ts",
        filePath: "src/a.ts",
        oldContent: "one\ntwo\nthree\n",
        formattedDiff: expect.stringContaining("-two\n+TWO"),
      },
    });
    const changed = invocation.withContent?.("");
    expect(changed?.args).toEqual({ file_path: "src/a.ts", content: "" });
    const [event] = changed ? await collect(changed, signal) : [];
    expect(event).toMatchObject({
      value: {
        value: { result: { value: { newContent: "", formattedDiff: expect.stringContaining("The user changed") } } },
      },
    });
    expect(readFileSync(join(root, "src/a.ts"), "utf8")).toBe("");
  });

  it("replace changes what occurs as often as expected, and refuses the rest", async () => {
    const edit = (args: JsonObject) => prepare("replace", { file_path: "src/a.ts", ...args });
    await expect(edit({ old_string: "four", new_string: "x" })).rejects.toThrow("occurs 0 times");
    await expect(edit({ old_string: "o", new_string: "x" })).rejects.toThrow("occurs 2 times");
    await expect(edit({ old_string: "", new_string: "x" })).rejects.toThrow("is empty");
    await collect(await edit({ old_string: "o", new_string: "0$&", expected_replacements: 2 }), signal);
    expect(readFileSync(join(root, "src/a.ts"), "utf8")).toBe("0$&ne\ntw0$&\nthree\n");
  });

  it("an edit fails when the file is no longer the one that was shown", async () => {
    const invocation = await prepare("write_file", { file_path: "src/a.ts", content: "x" });
    writeFileSync(join(root, "src/a.ts"), "changed meanwhile");
    expect(await collect(invocation, signal)).toMatchObject([
      { value: { case: "error", value: { message: expect.stringContaining("changed after") } } },
    ]);
    expect(readFileSync(join(root, "src/a.ts"), "utf8")).toBe("changed meanwhile");
  });

  async function prepare(name: string, args: JsonObject): Promise<ToolInvocation> {
    const tools = builtinTools(workspace, { environment: {}, timeoutMs: 1000, maxOutputBytes: 1000 });
    const tool = tools.find(({ declaration }) => declaration.name === name);
    if (!tool) throw new Error(`no tool ${name}`);
    return tool.prepare(args, signal);
  }

  async function text(name: string, args: JsonObject): Promise<string> {
    const [event] = await collect(await prepare(name, args), signal);
    const result = event?.case === "result" && event.value.case === "output" ? event.value.value.result : undefined;
    return result?.case === "text" ? result.value : "";
  }
});

async function collect(invocation: ToolInvocation, signal: AbortSignal): Promise<ToolEvent[]> {
  const events: ToolEvent[] = [];
  for await (const event of invocation.execute(signal)) events.push(event);
  return events;
}
