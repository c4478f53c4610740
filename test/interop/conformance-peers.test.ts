import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  type CaseResult,
  createReport,
  findSubject,
  htmlPage,
  runServerSuite,
} from "@devtool/conformance";
import { Outcome, type Report } from "@devtool/conformance/protos";
import type { Subject } from "@devtool/conformance/testing";
import { describe, expect, it } from "vitest";
import { knownFailingOf } from "../conformance/known-failing.ts";
import {
  type Peer,
  peers,
  plainPeers,
  type RunningPeer,
  WAYS,
  type Way,
} from "../conformance/peers.ts";
import { LEFT_TO_CI, variantsOf } from "../depth.ts";

/**
 * A directory for what was sent to each peer and what came back, as pages.
 * Default: none are written.
 */
const EVIDENCE = process.env.DEVTOOL_CONFORMANCE_EVIDENCE;

/**
 * Our own server only for the evidence: conformance.test.ts plays the same
 * cases against our server.
 */
const PLAYED = peers().filter(
  ({ name }) => name !== "devtool" || EVIDENCE !== undefined,
);

describe("peers, tested by the conformance kit", { timeout: 300_000 }, () => {
  const plain = plainPeers();
  // Every third: each SDK, and each shape.
  const shapes = variantsOf("agents on SDKs", plain, 1, 11);
  for (const peer of [...PLAYED, ...shapes]) {
    const title = `${peer.name} fails the cases that are known, in each way in which it can be spoken to, and no other`;
    const reason =
      peer.missing === undefined ? LEFT_TO_CI : ` (skipped: ${peer.missing})`;
    it.skipIf(reason !== "")(
      `${title}${reason}`,
      // Peers have races of their own (seen once: a stream of a2a-go that ended
      // too early); ours may have none.
      { retry: peer.name === "devtool" ? 0 : 2 },
      async () => {
        await using running = await peer.start();
        const reports = await reportsOf(peer, running);
        if (EVIDENCE !== undefined) writeEvidence(EVIDENCE, peer.name, reports);
        expect(
          reports.map(({ protocolVersion, binding }) => ({
            protocolVersion,
            binding,
          })),
        ).toEqual(peer.ways);
        expect(reports.flatMap(surprises)).toEqual([]);
      },
    );
  }
});

async function reportsOf(peer: Peer, running: RunningPeer): Promise<Report[]> {
  const reports: Report[] = [];
  for (const way of WAYS) {
    const subject = await subjectOf(running, way);
    if (subject) reports.push(await reportOf(peer, subject));
  }
  return reports;
}

/**
 * A peer in a way in which it can be spoken to; undefined where its card has no
 * such interface.
 */
async function subjectOf(
  running: RunningPeer,
  way: Way,
): Promise<Subject | undefined> {
  try {
    return await findSubject(
      { ...running, ...way },
      AbortSignal.timeout(60_000),
    );
  } catch (reason) {
    if (
      reason instanceof Error &&
      reason.message.startsWith("the agent has no A2A")
    ) {
      return undefined;
    }
    throw reason;
  }
}

async function reportOf(
  { name, known, prompts, only }: Peer,
  subject: Subject,
): Promise<Report> {
  const results: CaseResult[] = [];
  const options = { only, timeoutMs: 10_000, ...(prompts && { prompts }) };
  for await (const result of runServerSuite(
    subject,
    AbortSignal.timeout(200_000),
    options,
  )) {
    results.push(result);
  }
  const suite = `A2A ${subject.binding.protocolVersion} server`;
  return createReport({
    suite,
    subject: { ...subject, name },
    results,
    known: knownFailingOf(known),
    time: new Date(),
  });
}

/** The differences from the list of known failures, each with its reason. */
function surprises({ protocolVersion, binding, cases }: Report): string[] {
  return cases
    .filter(
      ({ outcome }) =>
        outcome === Outcome.FAILED || outcome === Outcome.PASSED_THOUGH_KNOWN,
    )
    .map(({ id, reason, failures }) => {
      const told = failures.map((failure) => failure.reason).join("; ");
      return `A2A ${protocolVersion} over ${binding}: ${id}: ${reason || told}`;
    });
}

function writeEvidence(
  directory: string,
  peer: string,
  reports: readonly Report[],
): void {
  mkdirSync(directory, { recursive: true });
  const name = peer.replaceAll(/[^a-z0-9.]+/gi, "-");
  writeFileSync(join(directory, `${name}.html`), htmlPage(reports));
}
