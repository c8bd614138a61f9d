// PostGraphile as its documentation sets it up for production: no watching, no explaining, no GraphiQL.
import { makePgService } from "postgraphile/adaptors/pg";
import { PostGraphileAmberPreset } from "postgraphile/presets/amber";

export default {
  extends: [PostGraphileAmberPreset],
  pgServices: [makePgService({ connectionString: process.env.DATABASE_URL, schemas: ["public"] })],
  grafserv: { host: "127.0.0.1", port: Number(process.env.PORT), graphiql: false, watch: false },
  grafast: { explain: false },
};
