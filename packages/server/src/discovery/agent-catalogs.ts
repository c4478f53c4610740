import { create, fromJson } from "@bufbuild/protobuf";
import {
  listOrEmpty,
  objectOrEmpty,
  stringOrEmpty,
} from "@devtool/internal/json";
import { shownUrl } from "@devtool/internal/shown-url";
import {
  type CatalogEntry,
  CatalogEntrySchema,
  type FoundAgent,
  FoundAgentSchema,
  parseJson,
} from "@devtool/schema";
import type { JSONWebKeySet } from "jose";
import { Code, DevtoolError, quoted } from "../errors.ts";
import { guardedFetch } from "../outbound/guarded-fetch.ts";
import { hostPort, parseTarget } from "../outbound/outbound-policy.ts";
import { isNameOfCatalog, plainName } from "./agent-registry.ts";

/** A server elsewhere whose catalog is read. */
export interface AgentCatalog {
  /** In front of the names of its agents: letters, digits, `-` and `_`. */
  readonly name: string;
  /** The URL of the server. */
  readonly url: string;
  /** The bearer token for agents at the URL's origin. Default: none. */
  readonly token?: string | undefined;
  /** The keys that sign the cards of its agents. Default: none is checked. */
  readonly keys?: JSONWebKeySet | undefined;
}

const PATH = "/.well-known/ai-catalog.json";
const MAX_BYTES = 1024 * 1024;
const TIMEOUT_MS = 10_000;
/** How long a catalog that was read counts, in milliseconds. */
const FRESH_MS = 5 * 60_000;
/** The maximum number of agents of a catalog; those after them are left out. */
const MAX_AGENTS = 100;
/** The maximum number of notices of one reading about what is left out. */
const MAX_NOTICES = 10;
const MAX_TEXT = 1000;
const CARDS: readonly string[] = [
  "application/a2a-agent-card+json",
  "application/agent-card+json",
];

/** Dependencies of `readCatalog`. */
interface CatalogReading {
  readonly now: () => number;
  readonly onNotice: (text: string) => void;
  readonly targets: readonly string[];
  readonly ownPorts: () => readonly number[];
}

/** An agent of a catalog, and the catalog. */
export interface ListedElsewhere {
  readonly catalog: AgentCatalog;
  readonly agent: FoundAgent;
}

/**
 * The agents in the catalogs of other servers (AI Catalog 1.0), which are read
 * when somebody looks for agents, at most once in five minutes each.
 */
export class AgentCatalogs {
  readonly #catalogs: readonly AgentCatalog[];
  readonly #reading: CatalogReading;
  readonly #known = new Map<
    AgentCatalog,
    { readonly readMs: number; readonly agents: Promise<readonly FoundAgent[]> }
  >();

  constructor(catalogs: readonly AgentCatalog[], reading: CatalogReading) {
    this.#catalogs = catalogs;
    this.#reading = reading;
  }

  /** Returns the agents of all catalogs. One that cannot be read has those of before. */
  async list(): Promise<readonly ListedElsewhere[]> {
    const all = await Promise.all(
      this.#catalogs.map(async (catalog) => {
        const agents = await this.#agentsOf(catalog);
        return agents.map((agent) => ({ catalog, agent }));
      }),
    );
    return all.flat();
  }

  #agentsOf(catalog: AgentCatalog): Promise<readonly FoundAgent[]> {
    const nowMs = this.#reading.now();
    const known = this.#known.get(catalog);
    if (known && nowMs - known.readMs < FRESH_MS) return known.agents;
    const agents = this.#read(catalog).catch((reason: unknown) => {
      const why =
        reason instanceof DevtoolError ? reason.message : "it is not JSON";
      this.#reading.onNotice(
        `catalog ${quoted(catalog.name)} at ${shownUrl(catalog.url)} cannot be read, and is asked again in five minutes: ${why}`,
      );
      return known?.agents ?? [];
    });
    this.#known.set(catalog, { readMs: nowMs, agents });
    return agents;
  }

  async #read(catalog: AgentCatalog): Promise<readonly FoundAgent[]> {
    const { targets, ownPorts } = this.#reading;
    const base = catalog.url.replace(/\/+$/, "");
    const { status, body, isTruncated } = await guardedFetch(
      {
        ...{ url: `${base}${PATH}`, method: "GET", maxRedirects: 0 },
        ...{ headers: { accept: "application/json" } },
        ...{ maxBytes: MAX_BYTES, timeoutMs: TIMEOUT_MS },
      },
      {
        allowedHosts: [hostPort(parseTarget(catalog.url)), ...targets],
        allowing: allowingTarget,
        ownPorts,
      },
      AbortSignal.timeout(TIMEOUT_MS),
    );
    if (status !== 200) throw unusable(`its status is ${status}`);
    if (isTruncated) {
      throw unusable(`it is larger than ${MAX_BYTES} bytes`);
    }
    const json = objectOrEmpty(parseJson(body.toString("utf8")));
    return this.#agentsIn(catalog, listOrEmpty(json.entries));
  }

  #agentsIn(
    catalog: AgentCatalog,
    entries: readonly unknown[],
  ): readonly FoundAgent[] {
    const agents = new Map<string, FoundAgent>();
    let leftOut = 0;
    const { onNotice } = this.#reading;
    const leaveOut = (what: unknown, why: string): void => {
      if (++leftOut > MAX_NOTICES) return;
      onNotice(
        `agent ${quoted(stringOrEmpty(what))} of catalog ${quoted(catalog.name)} is left out: ${why}`,
      );
    };
    for (const json of entries) {
      const { identifier, type } = objectOrEmpty(json);
      if (typeof type !== "string" || !CARDS.includes(type)) continue;
      if (agents.size === MAX_AGENTS) {
        leaveOut(identifier, `the catalog has more than ${MAX_AGENTS}`);
        break;
      }
      try {
        const entry = fromJson(CatalogEntrySchema, objectOrEmpty(json), {
          ignoreUnknownFields: true,
        });
        const agent = agentOf(entry, catalog);
        this.#assertOwnName(agent.name, catalog);
        const plain = plainName(agent.name);
        if (agents.has(plain)) throw unusable("another one has its name");
        agents.set(plain, agent);
      } catch (reason) {
        const why = reason instanceof Error ? reason.message : String(reason);
        leaveOut(identifier, why);
      }
    }
    if (leftOut > MAX_NOTICES) {
      onNotice(
        `${leftOut - MAX_NOTICES} further agents of catalog ${quoted(catalog.name)} are left out`,
      );
    }
    return [...agents.values()];
  }

  /**
   * Throws for a name that begins with that of another catalog, such as
   * `corp-eu-pay` of the catalog `corp` beside one that is named `corp-eu`: also
   * while the other one has no such agent, or cannot be read.
   */
  #assertOwnName(name: string, catalog: AgentCatalog): void {
    const other = this.#catalogs.find(
      (one) =>
        one.name.length > catalog.name.length && isNameOfCatalog(name, one),
    );
    if (!other) return;
    throw unusable(
      `its name ${quoted(name)} is for agents of catalog ${quoted(other.name)}`,
    );
  }
}

function unusable(problem: string): DevtoolError {
  return new DevtoolError(problem, Code.FailedPrecondition);
}

/** Returns the setting that permits a target of agents that are found. */
export function allowingTarget(target: string): string {
  return `agent_registry.targets = [${JSON.stringify(target)}]`;
}

/** The agent of an entry, under the name of its catalog. */
function agentOf(
  { identifier, url, description, tags, capabilities }: CatalogEntry,
  catalog: AgentCatalog,
): FoundAgent {
  const own = identifier.split(":").at(-1)?.replaceAll(".", "-") ?? "";
  const name = `${catalog.name}-${own}`;
  if (!/^[\w-]{1,50}$/.test(name)) {
    throw unusable(
      `its name ${quoted(name)} is not 1 to 50 letters, digits, - and _`,
    );
  }
  return create(FoundAgentSchema, {
    name,
    url: parseTarget(url).href,
    description: description.slice(0, MAX_TEXT),
    skills: [...capabilities, ...tags]
      .filter((skill) => skill.length <= 50)
      .slice(0, 20),
    catalog: catalog.name,
  });
}
