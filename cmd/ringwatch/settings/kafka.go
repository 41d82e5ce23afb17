package settings

import (
	"errors"

	"github.com/ringwatch/ringwatch/stream"
	"github.com/ringwatch/ringwatch/stream/kafka"
)

// FramesConfig is what every engine of the stream needs to know.
type FramesConfig = stream.Config

// kafkaConfig is what the topics are like, and where Kafka is.
type kafkaConfig struct {
	FramesConfig
	kafka.Config
}

// DefaultKafka is the section kafka of who has set nothing of it.
func DefaultKafka() kafkaConfig {
	return kafkaConfig{FramesConfig: stream.DefaultConfig(), Config: kafka.DefaultConfig()}
}

// Validate reports everything that is wrong at once.
func (c kafkaConfig) Validate() error {
	return errors.Join(c.FramesConfig.Validate(), c.Config.Validate())
}
