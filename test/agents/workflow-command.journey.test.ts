import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "@devtool/cli/testing";
import { fileText } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";
import { startServing } from "../durability/crash/server-process.ts";

const FLOW = `
name: release
description: Publishes notes.
steps:
  - id: draft
    loop: { until: "{{steps.review.result.text}}", starts_with: APPROVED, max: 3 }
    steps:
      - { id: write, agent: devtool, task: "text Notes of {{input.text}} on {{input.branch}}." }
      - { id: review, agent: devtool, task: "text APPROVED", dependencies: [write] }
    output: "{{steps.write.result.text}}"
  - id: publish
    agent: devtool
    task: "write published.txt {{steps.draft.result.text}}"
    approval: "Publish {{input.text}}?"
    dependencies: [draft]
`;

describe("devtool workflow", () => {
  it("checks, runs, lists, shows, cancels, resumes and forks", async () => {
    const base = temporaryDirectory();
    const [data, workspace] = [join(base, "data"), join(base, "work")];
    mkdirSync(join(data, "workflows"), { recursive: true, mode: 0o700 });
    mkdirSync(workspace);
    const file = join(base, "release.yaml");
    writeFileSync(file, FLOW, { mode: 0o600 });
    const flow = (...words: string[]) => runCommand(["workflow", ...words]);
    const place = ["--data", data, "--workspace", workspace];
    expect((await flow("show", file)).out).toBe(
      "release: Publishes notes.\n  draft: at most 3 rounds\n    write: agent devtool\n    review: agent devtool, after write\n  publish: agent devtool, after draft, asks before\n",
    );
    const bad = join(base, "bad.yaml");
    writeFileSync(bad, FLOW.replace("[draft]", "[drft]"), { mode: 0o600 });
    expect((await flow("show", bad)).err).toContain(
      'step "publish" refers to step "drft", which is not there or not before it: choose draft',
    );
    const input = ["--input", "branch=main"];
    const ran = await flow(
      ...["run", file, "v1", ...input, ...place, "--approve", "all"],
    );
    expect([ran.code, ran.err]).toEqual([0, expect.stringMatching(/^task /)]);
    expect(fileText(workspace, "published.txt")).toBe("Notes of v1 on main.");

    writeFileSync(join(data, "workflows", "release.yaml"), FLOW, {
      mode: 0o600,
    });
    expect((await flow("list", "--data", data)).out).toMatch(
      /^release {2}Publishes notes\. {2}.*release\.yaml\n$/,
    );
    // A bad file costs only itself.
    const broken = join(data, "workflows", "broken.yaml");
    writeFileSync(broken, "steps: []", { mode: 0o600 });
    const open = join(data, "workflows", "open.yaml");
    writeFileSync(open, FLOW);
    chmodSync(open, 0o666);
    const listed = await flow("list", "--data", data);
    expect([listed.code, listed.out.match(/^release /gm)?.length]).toEqual([
      1, 1,
    ]);
    expect(listed.err).toMatch(
      /broken\.yaml" cannot be used: workflow: it has 0 steps: write 1 to 100\n.*open\.yaml" may be changed by everybody: chmod o-w it/,
    );
    const hold = `steps = [{ id = "wait", agent = "devtool", task = "wait 600000" }]`;
    writeFileSync(join(data, "workflows", "hold.toml"), hold, { mode: 0o600 });
    const server = await startServing(place);
    // The operator is told of both, and the server serves the rest.
    await expect
      .poll(() => server.said.stderr)
      .toMatch(/broken\.yaml.*left out.*open\.yaml.*left out/s);
    const declined = await flow(
      ...["run", "release", "v2", ...input, ...place, "--approve", "never"],
    );
    expect([declined.code, declined.out]).toEqual([
      1,
      expect.stringMatching(/step "publish" failed: it was declined/),
    ]);
    const [, id = ""] = /task (\S+)/.exec(declined.err) ?? [];
    expect((await flow("show", id, "--data", data)).out).toMatch(
      /release {2}failed\n {2}✓ draft\/1\/write .*\n {2}✓ draft\/1\/review .*\nfailed: step "publish" failed: it was declined.*\n2 tries, [\d.]+ s, \d+ tokens\n$/,
    );
    const resumed = await flow(
      "resume",
      id,
      "--data",
      data,
      "--approve",
      "all",
    );
    expect(resumed.code).toBe(0);
    expect(fileText(workspace, "published.txt")).toBe("Notes of v2 on main.");
    const [, next = ""] = /task (\S+)/.exec(resumed.err) ?? [];
    expect((await flow("show", next, "--data", data)).out).toMatch(
      /completed\n {2}= draft\/1\/write\n {2}= draft\/1\/review\n {2}✓ publish/,
    );
    const forked = await flow(
      ...["fork", next, "--from", "draft", "--data", data, "--approve", "all"],
    );
    expect(forked.code).toBe(0);
    expect(forked.out.match(/^✓ agent_devtool .*text/gm)).toHaveLength(2);

    const held = flow("run", "hold", "held", ...place);
    const list = ["tasks", "--agent", "hold", "--data", data];
    const running = (): Promise<string> =>
      runCommand(list).then(({ out }) => out.split(" ")[0] ?? "");
    await expect.poll(running, { timeout: 60_000 }).not.toBe("");
    const heldId = await running();
    expect((await flow("cancel", heldId, "--data", data)).code).toBe(0);
    expect((await held).code).not.toBe(0);
    expect((await flow("show", heldId, "--data", data)).out).toMatch(
      /hold {2}canceled\n/,
    );
    await server.kill();
  });
});
