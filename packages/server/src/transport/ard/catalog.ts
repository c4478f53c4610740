import { createHash } from "node:crypto";
import {
  create,
  type JsonObject,
  type JsonValue,
  type MessageInitShape,
  toJson,
} from "@bufbuild/protobuf";
import { listOrEmpty, objectOrEmpty } from "@devtool/internal/json";
import {
  AiCatalogSchema,
  type CatalogEntry,
  CatalogEntrySchema,
  CatalogSearchRequestSchema,
  CatalogSearchResponseSchema,
  decodeRfcJson,
  type FoundAgent,
  parseJson,
} from "@devtool/schema";
import { invalid, quoted } from "../../errors.ts";
import type { DialectServices } from "../dialect.ts";
import { assertJson, readBody } from "../http/body.ts";
import { send } from "../http/route.ts";
import type { RoutedCall } from "../http/routed-call.ts";

const CARD = "application/a2a-agent-card+json";
const REGISTRY = "application/ai-registry+json";
const MAX_PAGE_SIZE = 100;
/** The maximum length of a query in characters: its words cost processor time. */
const MAX_QUERY = 4096;

/** The fields of an entry that a filter may name. */
const FILTERS: readonly string[] = [
  "identifier",
  "displayName",
  "type",
  "url",
  "description",
  "tags",
  "capabilities",
  "version",
  "publisher",
];

/** The agents of a server, as a catalog has them. */
export class Catalog {
  readonly #services: DialectServices;
  /** The entries by the names of their agents. */
  readonly #entries: ReadonlyMap<string, CatalogEntry>;
  readonly #body: string;

  constructor(services: DialectServices) {
    this.#services = services;
    const { about, agents, baseUrl, publicAgents } = services;
    const entries = new Map([["", entryOf(services, "", about)]]);
    for (const [name, own] of agents) {
      entries.set(name, entryOf(services, name, own));
    }
    // The default agent of several has a name, too.
    if (agents.size > 0) entries.delete("");
    this.#entries = shownApart(entries);
    const search = create(CatalogEntrySchema, {
      identifier: `urn:air:${publisherOf(baseUrl)}:registry:devtool`,
      displayName: `Search of ${publisherOf(baseUrl)}`,
      type: REGISTRY,
      url: baseUrl,
    });
    const catalog = create(AiCatalogSchema, {
      specVersion: "1.0",
      host: { displayName: publisherOf(baseUrl) },
      entries: [
        ...[...this.#entries]
          .filter(([name]) => name === "" || (publicAgents?.has(name) ?? true))
          .map(([, entry]) => entry),
        search,
      ],
    });
    this.#body = JSON.stringify(toJson(AiCatalogSchema, catalog));
  }

  /** Answers a request for the catalog, which has what all callers may use. */
  send({ response }: RoutedCall): void {
    const digest = createHash("sha256").update(this.#body).digest("base64url");
    send(response, 200, {
      body: this.#body,
      etag: `"${digest.slice(0, 22)}"`,
      "cache-control": "public, max-age=60",
    });
  }

  /** Answers a search with the agents that its caller may use. */
  async search({ request, response, context }: RoutedCall): Promise<void> {
    const { baseUrl: source, handler, maxRequestBytes } = this.#services;
    assertJson(request);
    const body = await readBody(request, maxRequestBytes);
    const { query, federation, pageSize, pageToken } = decodeRfcJson(
      CatalogSearchRequestSchema,
      parseJson(body),
      "",
    );
    if (!["", "auto", "referrals", "none"].includes(federation)) {
      throw invalid(
        "federation",
        federation,
        "is not known",
        "choose auto, referrals or none",
      );
    }
    const first = positionOf(pageToken);
    const size = pageSizeOf(pageSize);
    const [{ agents }, elsewhere] = await Promise.all([
      handler.agents.listAgents({}, context),
      handler.agents.listFoundAgents({}, context),
    ]);
    const permitted = new Set(agents.map(({ name = "" }) => name));
    const found = ranked(
      [
        ...[...this.#entries]
          .filter(([name]) => permitted.has(name))
          .map(([, entry]) => entry),
        ...elsewhere.agents.map((agent) => foundEntryOf(source, agent)),
      ],
      query?.text ?? "",
      query?.filter ?? {},
    );
    const next = first + size;
    const answer = create(CatalogSearchResponseSchema, {
      results: found.slice(first, next).map((entry) => ({ ...entry, source })),
      pageToken: next < found.length ? tokenOf(next) : "",
    });
    // ProtoJSON leaves an empty list out, which the standard requires.
    const json = objectOrEmpty(toJson(CatalogSearchResponseSchema, answer));
    send(response, 200, { body: JSON.stringify({ results: [], ...json }) });
  }
}

function entryOf(
  { baseUrl }: Pick<DialectServices, "baseUrl">,
  name: string,
  {
    name: displayName,
    description,
    version,
    skills = [],
  }: DialectServices["about"],
): CatalogEntry {
  const base = name === "" ? baseUrl : `${baseUrl}/agents/${name}`;
  const examples = skills.flatMap((skill) => skill.examples ?? []).slice(0, 5);
  const fields: MessageInitShape<typeof CatalogEntrySchema> = {
    identifier: `urn:air:${publisherOf(baseUrl)}:agent:${name || "default"}`,
    displayName: displayName || name,
    type: CARD,
    url: `${base}/.well-known/agent-card.json`,
    description,
    tags: [...new Set(skills.flatMap(({ tags }) => tags))],
    capabilities: skills.map(({ id }) => id),
    representativeQueries: examples.length < 2 ? [] : examples,
    version,
  };
  return create(CatalogEntrySchema, fields);
}

/** The entry of an agent elsewhere, which says where it was found. */
function foundEntryOf(
  baseUrl: string,
  { name, url, description, skills, registeredBy, catalog }: FoundAgent,
): CatalogEntry {
  const origin =
    catalog === ""
      ? `registered by ${quoted(registeredBy)}`
      : `of the catalog ${quoted(catalog)}`;
  const card = new URL(url);
  if (!/\/\.well-known\/agent(-card)?\.json$/.test(card.pathname)) {
    const path = card.pathname.replace(/\/+$/, "");
    card.pathname = `${path}/.well-known/agent-card.json`;
  }
  return create(CatalogEntrySchema, {
    identifier: `urn:air:${publisherOf(baseUrl)}:found:${name}`,
    displayName: `${name} (${origin})`,
    type: CARD,
    url: card.href,
    description,
    capabilities: skills,
  });
}

/** Adds the name of each agent to a display name that several have. */
function shownApart(
  entries: ReadonlyMap<string, CatalogEntry>,
): ReadonlyMap<string, CatalogEntry> {
  const all = [...entries.values()].map(({ displayName }) =>
    displayName.toLowerCase(),
  );
  const isShared = (displayName: string): boolean =>
    all.indexOf(displayName.toLowerCase()) !==
    all.lastIndexOf(displayName.toLowerCase());
  return new Map(
    [...entries].map(([name, entry]) => {
      const { displayName: shown } = entry;
      const displayName = isShared(shown) ? `${shown} (${name})` : shown;
      return [name, { ...entry, displayName }];
    }),
  );
}

/** Returns the host of a URL as a URN may have it: an IPv6 address without `:`. */
function publisherOf(baseUrl: string): string {
  return new URL(baseUrl).hostname.replace(/[^a-zA-Z0-9.-]+/g, "-");
}

/** Returns the entries that have words of a text and pass a filter, the best first. */
function ranked(
  entries: readonly CatalogEntry[],
  text: string,
  filter: JsonObject,
): readonly CatalogEntry[] {
  if (text.length > MAX_QUERY) {
    throw invalid(
      "query.text",
      text,
      `has ${text.length} characters: limit is ${MAX_QUERY}`,
    );
  }
  const words = new Set(queryWords(text));
  if (words.size === 0) {
    throw invalid(
      "query.text",
      text,
      "has no word",
      "say what the agent is to do",
    );
  }
  const wanted = Object.entries(filter);
  const unknown = wanted.find(([field]) => !FILTERS.includes(field));
  if (unknown) {
    throw invalid(
      "query.filter",
      unknown[0],
      "is no field of an entry that can be filtered",
      `choose ${FILTERS.join(", ")}`,
    );
  }
  return entries
    .filter((entry) =>
      wanted.every(([field, values]) => hasOneOf(entry, field, values)),
    )
    .flatMap((entry) => {
      const { displayName, description, representativeQueries } = entry;
      const labels = [...entry.tags, ...entry.capabilities];
      const texts = [displayName, description, ...labels];
      const has = new Set(
        [...texts, ...representativeQueries].flatMap(wordsOf),
      );
      const count = [...words].filter((word) => has.has(word)).length;
      const score = Math.ceil((count * 100) / words.size);
      return score === 0 ? [] : [{ ...entry, score }];
    })
    .sort((a, b) => b.score - a.score);
}

/** Splits what is written without spaces, such as Chinese. */
const SEGMENTER = new Intl.Segmenter(undefined, { granularity: "word" });

function wordsOf(text: string): readonly string[] {
  const runs = text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return runs.flatMap((run) =>
    [...SEGMENTER.segment(run)].map(({ segment }) => segment),
  );
}

/**
 * Returns the words of a query. Those of one or two Latin letters are in too
 * many queries to say something, unless there is no other.
 */
function queryWords(text: string): readonly string[] {
  const all = wordsOf(text);
  const long = all.filter((word) => !/^[\p{sc=Latin}\p{N}]{1,2}$/u.test(word));
  return long.length > 0 ? long : all;
}

function hasOneOf(
  entry: CatalogEntry,
  field: string,
  wanted: JsonValue,
): boolean {
  const values = Array.isArray(wanted) ? wanted : [wanted];
  const { [field]: value = [] } =
    field === "publisher"
      ? { publisher: entry.identifier.split(":")[2] ?? "" }
      : objectOrEmpty(toJson(CatalogEntrySchema, entry));
  const own = Array.isArray(value) ? listOrEmpty(value) : [value];
  return own.some((one) => values.includes(one));
}

function pageSizeOf(pageSize = 10): number {
  if (pageSize >= 1 && pageSize <= MAX_PAGE_SIZE) return pageSize;
  throw invalid(
    "pageSize",
    String(pageSize),
    "is out of range",
    `write a number from 1 to ${MAX_PAGE_SIZE}`,
  );
}

function tokenOf(position: number): string {
  return Buffer.from(String(position)).toString("base64url");
}

/** Returns the position that a page begins with. */
function positionOf(pageToken: string): number {
  if (pageToken === "") return 0;
  const position = Number(Buffer.from(pageToken, "base64url").toString());
  if (
    Number.isSafeInteger(position) &&
    position >= 0 &&
    tokenOf(position) === pageToken
  ) {
    return position;
  }
  throw invalid(
    "pageToken",
    pageToken,
    "is not one of this search",
    "take that of the page before",
  );
}
