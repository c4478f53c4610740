import { BrowserAccessService } from "@devtool/schema";
import type { DialectServices } from "../dialect.ts";

/** The path of the one rpc that needs no credentials. */
export const REDEEM_PATH: string = `/${BrowserAccessService.typeName}/${BrowserAccessService.method.redeemAccessCode.name}`;

/** Dependencies of the services of Connect, gRPC and gRPC-Web. */
export type ConnectOptions = Pick<
  DialectServices,
  "handler" | "maxRequestBytes" | "shutdown" | "onError" | "browsers"
>;
