// Command openapi checks that docs/openapi.yaml is a valid OpenAPI document: that it is
// understood as a whole, and that all it refers to is there.
//
//	go run -C tools/openapi .
//
// It is a module of its own: what it needs takes minutes to compile, and nothing else needs it.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/pb33f/libopenapi"
)

// document is seen from this folder.
const document = "../../docs/openapi.yaml"

func main() {
	if err := check(document); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", document, err)
		os.Exit(1)
	}
}

func check(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	d, err := libopenapi.NewDocument(text)
	if err != nil {
		return err
	}
	model, err := d.BuildV3Model()
	if err != nil {
		return err
	}
	if v := model.Model.Version; v != "3.1.0" {
		return fmt.Errorf("it is OpenAPI %s, and not 3.1.0", v)
	}
	errs := append(model.Index.GetReferenceIndexErrors(), model.Index.GetOperationParametersIndexErrors()...)
	operations := map[string]string{}
	for path, item := range model.Model.Paths.PathItems.FromOldest() {
		for method, operation := range item.GetOperations().FromOldest() {
			here := method + " " + path
			if there := operations[operation.OperationId]; operation.OperationId == "" || there != "" {
				errs = append(errs, fmt.Errorf("%s: the operationId %q is empty or that of %s", here, operation.OperationId, there))
			}
			operations[operation.OperationId] = here
			if operation.Responses == nil || operation.Responses.Codes.Len() == 0 {
				errs = append(errs, fmt.Errorf("%s: it has no responses", here))
			}
		}
	}
	if len(operations) == 0 {
		errs = append(errs, errors.New("it describes nothing"))
	}
	return errors.Join(errs...)
}
