/**
 * With twenty streams at once: how long the slowest waits for its first event,
 * beside the one in the middle; Google's server in the same run where it is
 * installed.
 */
import { stream } from "../client.ts";
import {
  DEVTOOL,
  PEER,
  peerProblem,
  type SubjectCommand,
  startFakeGemini,
  startSubject,
} from "../subject.ts";
import { median, numberNamed, printRow } from "./row.ts";
import { sabotageNamed } from "./sabotage.ts";

const STREAMS = 20;
const ROUNDS = numberNamed("rounds", 15);

await using fake = await startFakeGemini();
const env = { GEMINI_API_KEY: "fake", GOOGLE_GEMINI_BASE_URL: fake.url };
const lacking = {
  DEVTOOL_BENCH_SABOTAGE: sabotageNamed(),
  NODE_OPTIONS: `--import=${new URL("sabotage-import.ts", import.meta.url).href}`,
};
const ours = await measure({
  ...DEVTOOL,
  env: { ...env, ...(sabotageNamed() !== "" && lacking) },
});
printRow({
  name: "fairness.slowest-first-event-over-median",
  value: ours.ratio,
  target: { atMost: 3 },
});
const problem = peerProblem();
if (problem !== undefined) {
  console.log(`# beside Google's server: skipped, ${problem}`);
} else {
  const theirs = await measure({ ...PEER, env });
  printRow({
    name: "fairness.slowest-first-event-over-google",
    value: ours.slowestMs / theirs.slowestMs,
    target: { atMost: 1 },
  });
}

/** The medians over all rounds; the first ones, which warm up, are left out. */
async function measure(
  command: SubjectCommand,
): Promise<{ readonly ratio: number; readonly slowestMs: number }> {
  await using subject = await startSubject(command);
  const rounds: { readonly middle: number; readonly slowest: number }[] = [];
  for (let round = 0; round < ROUNDS + 3; round++) {
    const all = await Promise.all(
      Array.from({ length: STREAMS }, () =>
        stream(subject, subject.prompt("say 500")),
      ),
    );
    const first = all.map(({ firstMs }) => firstMs);
    if (round >= 3) {
      rounds.push({ middle: median(first), slowest: Math.max(...first) });
    }
  }
  const slowestMs = median(rounds.map(({ slowest }) => slowest));
  const middleMs = median(rounds.map(({ middle }) => middle));
  console.log(
    `# ${command.name}: first event after ${middleMs.toFixed(1)} ms in the middle, ${slowestMs.toFixed(1)} ms for the slowest`,
  );
  return {
    ratio: median(rounds.map(({ middle, slowest }) => slowest / middle)),
    slowestMs,
  };
}
