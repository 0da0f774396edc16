// The TypeScript SDK v1 with a Gearbox server over HTTP.
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { given, scenario } from './scenario.mjs'

await scenario(async (token) => {
  const client = new Client({ name: 'typescript-sdk', version: '1' })
  const headers = token ? { Authorization: 'Bearer ' + token } : {}
  const transport = new StreamableHTTPClientTransport(new URL(given().url), { requestInit: { headers } })
  await client.connect(transport)
  return {
    client,
    call: (name, input, options) => client.callTool({ name, arguments: input }, undefined, { timeout: 120_000, ...options }),
    close: async () => {
      await transport.terminateSession()
      await client.close()
    },
  }
})
console.log('ok')
