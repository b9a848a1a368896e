// Package kafkatest gives tests a Kafka broker: kfake inside the test process (Fake), or a real Apache Kafka broker
// whose jars Maven fetches once into a cache (Real, StartServer). Each runs a test on both, so that nothing is believed
// only because the imitation says so.
//
// What it upholds:
//
//  1. A test owns its topics: Topic and UniqueName never return one name twice, even across processes on one broker.
//  2. Every wait is bounded and names what it waited for.
//  3. A broker process never outlives the test process that started it (on Linux also after SIGKILL).
//  4. A test that cannot have a real broker skips and says what is missing; AMENDS_TEST_REQUIRE=kafka makes that a
//     failure.
//
// It does not promise a clean broker: the real one is shared by all tests of one process.
package kafkatest
