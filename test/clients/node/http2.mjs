// The TypeScript SDK v2 with a Gearbox server over HTTP, in one era of the protocol.
// Usage: node http2.mjs legacy|auto VERSION
import assert from 'node:assert/strict'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { given, scenario } from './scenario.mjs'

const [mode, version] = process.argv.slice(2)

await scenario(async (token) => {
  const client = new Client({ name: 'typescript-sdk', version: '2' }, { versionNegotiation: { mode } })
  const headers = token ? { Authorization: 'Bearer ' + token } : {}
  const transport = new StreamableHTTPClientTransport(new URL(given().url), { requestInit: { headers } })
  await client.connect(transport)
  assert.equal(client.getNegotiatedProtocolVersion(), version)
  return {
    client,
    call: (name, input, options) => client.callTool({ name, arguments: input }, { timeout: 120_000, ...options }),
    close: async () => {
      await transport.terminateSession()
      await client.close()
    },
  }
})
console.log('ok')
