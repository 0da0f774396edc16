package mcpserver

import (
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/gearbox-mcp/gearbox/internal/execution"
)

func TestSchemaOfExecuteBoundsNumbersAsTheCallDoes(t *testing.T) {
	schema, err := executeTool(nil).InputSchema.(*jsonschema.Schema).Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range map[string][]float64{"timeout_seconds": {-1, 0, 0.5, 300, 301}, "wait_seconds": {-1, 0, 0.5, execution.MaxWait.Seconds(), 1e6}} {
		for _, v := range values {
			_, byCall := execution.Arguments{Code: "1", TimeoutSeconds: &v}.Request(execution.Local, execution.Client{})
			if name == "wait_seconds" {
				_, byCall = execution.WaitSeconds(&v)
			}
			bySchema := schema.Validate(map[string]any{"code": "1", name: v})
			if (byCall == nil) != (bySchema == nil) {
				t.Errorf("%s %v: the call says %v, the schema %v", name, v, byCall, bySchema)
			}
		}
	}
}
