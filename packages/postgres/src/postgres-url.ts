import { Code, DevtoolError } from "@devtool/server/store";

/** The URL of a store, in its parts. */
export interface PostgresPlace {
  /**
   * The host or socket directory, the port and the database: no credentials.
   */
  readonly label: string;

  /** The URL without the parameter `options`. */
  readonly url: string;

  /**
   * The parameter `options`: settings of each connection, as PostgreSQL's
   * command line has them. Empty for none.
   */
  readonly options: string;
}

/**
 * Reads the URL of a store. Throws `Code.InvalidArgument` for a URL that is not
 * one of PostgreSQL. The error does not quote the URL, which may have a
 * password.
 */
export function placeOf(text: string): PostgresPlace {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^postgres(ql)?:$/.test(url.protocol)) {
    throw badUrl("is not a URL of PostgreSQL");
  }
  const database = decodeURIComponent(url.pathname.slice(1));
  if (database === "") throw badUrl("names no database");
  const host = url.searchParams.get("host") ?? decodeURIComponent(url.hostname);
  const port = url.port === "" ? "5432" : url.port;
  const options = url.searchParams.get("options") ?? "";
  url.searchParams.delete("options");
  return {
    label: `${host === "" ? "localhost" : host}:${port}/${database}`,
    url: url.href,
    options,
  };
}

function badUrl(problem: string): DevtoolError {
  return new DevtoolError(
    `the URL of the store ${problem}`,
    Code.InvalidArgument,
    {
      remedy: "write postgres://user:password@host:5432/database",
    },
  );
}
