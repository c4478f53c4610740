import type { RequestHandler } from "../../handler/request-handler.ts";
import type { CardOptions } from "./card.ts";

/** Dependencies of the service of A2A 0.3. */
export interface A2aV03ServiceOptions extends CardOptions {
  readonly handler: RequestHandler;
  readonly baseUrl: string;
}
