import { readFileSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serveCodingAgent } from "@devtool/coding-agent";

// A server that is a process of its own, so that its memory is its own and a
// crash is seen. Tells its parent what goes wrong inside.
const root = await mkdtemp(join(tmpdir(), "devtool-hostile-"));
// Beside the data: in a workspace that holds them no message would get as far
// as a turn.
const workspace = join(root, "workspace");
await mkdir(workspace);
const tell = (message: Readonly<Record<string, string>>): void =>
  void process.send?.(message);
/**
 * Takes what went wrong inside. From then on stacks are kept, so that the next
 * one says where.
 */
function report(reason: unknown): void {
  Error.stackTraceLimit = 10;
  tell({
    internal:
      reason instanceof Error
        ? (reason.stack ?? reason.message)
        : String(reason),
  });
}

const server = await serveCodingAgent({
  workspace,
  dataDirectory: join(root, "data"),
  approvalMode: 2,
  onNotice: () => undefined,
  onError: report,
});
// A refusal makes several errors, and nobody reads where: the stacks would take
// a tenth of the time and more.
Error.stackTraceLimit = 0;
tell({ url: server.url, token: server.token });
process.on("message", () => {
  // What waits to be collected is not held.
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  tell({
    heldBytes: String(heapUsed + external),
    residentBytes: String(rss),
    peakBytes: String(takePeak()),
  });
});

/** The most memory that the process had since this was asked last. */
function takePeak(): number {
  const [, kilobytes = "0"] =
    /VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  // What makes Linux forget it.
  writeFileSync("/proc/self/clear_refs", "5");
  return Number(kilobytes) * 1024;
}

process.once("disconnect", async () => {
  await server.close();
  await rm(root, { recursive: true, force: true });
});
