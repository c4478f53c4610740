/**
 * Compares what a step of a workflow takes with the same call of the same agent
 * that a client makes. Both are played in turns, so that other load of the
 * machine affects both: a step is the difference of a run of many steps and of a
 * run of one, divided by the steps between.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { prompt, stream, type Target } from "../client.ts";
import { devtoolOf, ROOT, type Subject, startSubject } from "../subject.ts";
import { median, numberNamed, printRow } from "./row.ts";

const STEPS = 20;
const BLOCKS = numberNamed("blocks", 24);
const WARM_BLOCKS = numberNamed("warm-blocks", 24);

/** What one of something takes, in milliseconds. */
interface Cost {
  readonly wallMs: number;
  readonly cpuMs: number;
}

const ECHO = `
export const agent = {
  about: { name: "echo", description: "Repeats what it is told." },
  open: () => ({
    createExecutor: () => ({
      async *execute({ prompt }) {
        yield { case: "text", value: \`You said: \${prompt.parts[0].content.value}\` };
      },
    }),
  }),
};
`;

await using server = await startSubject({
  ...devtoolOf(ROOT),
  name: "workflows",
  args: (directory) => {
    const agents = join(directory, "agents");
    mkdirSync(agents, { recursive: true });
    const write = (name: string, text: string): string => {
      writeFileSync(join(agents, name), text, { mode: 0o600 });
      return join(agents, name);
    };
    return [
      ...devtoolOf(ROOT).args(directory),
      ...["--agent", write("echo.mjs", ECHO)],
      ...["--agent", write("one.yaml", chainOf(1))],
      ...["--agent", write("many.yaml", chainOf(1 + STEPS))],
    ];
  },
});

const bare: Cost[] = [];
const step: Cost[] = [];
for (let block = -WARM_BLOCKS; block < BLOCKS; block++) {
  const call = await play(server, "echo", STEPS);
  const one = await play(server, "one", 1);
  const many = await play(server, "many", 1);
  if (block < 0) continue;
  bare.push({ wallMs: call.wallMs / STEPS, cpuMs: call.cpuMs / STEPS });
  step.push({
    wallMs: (many.wallMs - one.wallMs) / STEPS,
    cpuMs: (many.cpuMs - one.cpuMs) / STEPS,
  });
}
const inMiddle = (costs: readonly Cost[], kind: keyof Cost): number =>
  median(costs.map((cost) => cost[kind]));
for (const kind of ["wallMs", "cpuMs"] as const) {
  const [alone, within] = [inMiddle(bare, kind), inMiddle(step, kind)];
  const unit = kind === "wallMs" ? "ms" : "ms of a processor";
  console.log(
    `# a call takes ${alone.toFixed(2)} ${unit}, a step ${within.toFixed(2)}`,
  );
  printRow({
    name: `workflow-steps.over-call.${kind === "wallMs" ? "ms" : "cpu-ms"}`,
    value: within - alone,
    target: { atMost: 3 },
  });
}

/** Has an agent work some times, one after the other. Returns what all take. */
async function play(
  { url, token, processorMs }: Subject,
  agent: string,
  times: number,
): Promise<Cost> {
  const target: Target = { url: new URL(agent, `${url}/agents/`).href, token };
  const cpuMs = processorMs();
  const wallMs = performance.now();
  for (let count = 0; count < times; count++) {
    const seen = await stream(target, prompt("hello"));
    if (!seen.text.includes(`"completed"`)) throw new Error(seen.text);
  }
  return {
    wallMs: performance.now() - wallMs,
    cpuMs: processorMs() - cpuMs,
  };
}

function chainOf(length: number): string {
  const steps = Array.from({ length }, (_none, at) => {
    const before = at === 0 ? "" : `, dependencies: [s${at - 1}]`;
    const text = at === 0 ? "{{input.text}}" : "hello";
    return `  - { id: s${at}, agent: echo, task: "${text}"${before} }`;
  });
  return `steps:\n${steps.join("\n")}\n`;
}
